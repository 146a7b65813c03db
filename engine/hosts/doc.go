// Package hosts is for several hosts on one world.World. It has the list of live hosts, the
// resources that hosts publish, and the choice of hosts for a task. It states the keys of the store.
//
// # Keys
//
// Each part between slashes is escaped by url.PathEscape, so names may have any character.
// A TOPIC says for whom a key is: all, host:NAME, or group:ROLE.
//
//	hosts/NAME                           a live host, as JSON (Member)              lease
//	seen/NAME                            when a host has last said that it is there (LastSeen)
//	exports/TOPIC/FROM/KIND/NAME         a resource that FROM publishes (Export)    lease of its own time
//	kv/TOPIC/KEY                         a value of the kind kv, as it is
//	schedules/TOPIC/NAME/HOST            a candidate of a schedule, as JSON (Rule)  lease
//	semaphores/TOPIC/NAME:COUNT/LEASE    a request for a semaphore (Acquire)        lease
//
// A host reads the keys of its own topics, hosts/ and seen/. It writes hosts/ITSELF, seen/ITSELF, exports/*/ITSELF/,
// and below kv/, schedules/ and semaphores/ of its topics. So every right is a prefix, as the roles
// of etcd need it. Keys with a lease go when their host dies; an export goes some time after that, which it says itself.
//
// # Laws
//
//   - No call blocks on the store longer than its context allows. A Keeper and Follow outlive
//     every loss of the store: they say so once, try again, and say when it is back.
//   - A Keeper writes changes and no more: an equal set writes nothing.
//   - The reader of Follow sees each revision whole and in order, and after a gap a whole list. Of the exports of one host to one topic it sees no more
//     than MaxExports and MaxExportBytes, and no host keeps it from those of another one.
//   - The schedules of a topic, and the requests for a semaphore, have MaxShared and MaxSharedBytes for all hosts together, since their keys prove no host.
//     Beyond them nothing is chosen anew and no place is given, until there is room.
//   - The choice of a Table is a pure function of the candidates. All hosts that see one revision of the
//     store choose the same.
//   - A place of a semaphore belongs to one lease. Requests are served in the order of the store.
//   - A host that must be taken for dead knows that first: its lease is over by its own clock
//     before the keys go.
package hosts
