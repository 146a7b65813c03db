// Package deployed is the frontend of signed deploys: the deploy of a topic that is due for this host is its graph.
//
// # Laws
//
//   - A deploy takes effect only if a trusted key has signed it for this topic and number, with these very files.
//   - A graph that the engine refuses changes nothing: the last good one is yielded again.
//   - The number of the deploy in effect never falls, also over a restart.
//   - The deploy in effect is in a file. A host that cannot reach the store begins with that.
//   - A Frontend is for one topic. A host merges one for each of its topics.
package deployed
