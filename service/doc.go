// Package service lets a program that embeds the engine run as a service of systemd. A Notifier
// tells systemd how the graph stands and feeds its watchdog. A Journal sends log entries with
// fields. The page docs/systemd.md lists the messages and their times; the program mgmt itself
// stands on this package.
//
//	n := service.New(logger)
//	n.Configure(&options)
//	options.Observer = n.Observe(options.Observer)
//	e, err := mgmt.Open(ctx, options, frontend)
//	...
//	defer n.Start(ctx, e.Snapshot, nil)()
//	err = e.Wait()
//
// # Laws
//
//   - Nothing here holds the engine up: its loop's calls never block.
//   - The watchdog is fed by the engine's loop alone. A timer speaks for it only while the service
//     stops, when the loop has ended already.
//   - READY=1 comes when the first graph is in effect, and at the end of each reload, refused or
//     not.
//   - Without systemd nothing is done. A systemd or a journal that goes away does not fail the
//     engine.
//   - No child of the program may speak for it: New takes the addresses out of the environment.
//   - Start's end leaves no goroutine, and Journal.Close none after a second.
package service
