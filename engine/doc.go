// Package engine is the contract between resources, the reactor that runs them, and the frontends
// that declare them. It starts no goroutine and does no I/O.
//
// A kind is a type and a way to watch, check and change the thing that the type describes. A
// resource (Res) is a kind, a name and a value; the engine makes the world equal to the value, and
// keeps it so.
//
// # The life of a resource
//
//  1. A frontend names the kind and the name. Registry.New makes the resource: constructor, Default,
//     SetKind. The declared value is decoded into it.
//  2. Validate is called, without any access to the outside.
//  3. Init is called once, with an *Init that carries everything the engine gives to the resource.
//  4. Watch is called on a goroutine of its own. It arms its watches, calls Init.Running once, and
//     then Init.Event whenever the thing may have changed. When it ends with an error, it is started
//     again as the metaparameters say. With MetaParams.Poll, and of an UnwatchedRes, it is never
//     called; of a WatchedRes the engine may do its work.
//  5. CheckApply is called on another goroutine, whenever the scheduler decides: never before
//     Running, never while an ancestor is unsettled, and never twice at once.
//  6. Cleanup is called once, after Watch and CheckApply have ended.
//
// # Laws for those who write a resource
//
//   - CheckApply(ctx, false) changes nothing at all and reports through Init.Change exactly what
//     CheckApply(ctx, true) would then change.
//   - CheckApply returns (true, nil): it was right. (false, nil): it was not, and is now (or would
//     be, without apply). (false, err): it failed.
//   - CheckApply(ctx, true) makes it right in one call, or returns an error.
//   - Watch rather calls Event once too often than once too seldom. An event carries no data: it
//     says "look again".
//   - Every method that takes a context returns soon after it is cancelled.
//   - Default, Validate, Cmp, UIDs and the other describing methods touch nothing outside the
//     resource and change nothing in it. Facts that need a look outside are found out by Survey
//     (SurveyedRes).
//   - A resource keeps no state in package variables: several engines may run in one process.
//
// Abilities beyond Res are small interfaces (see AbilitiesOf); package traits has an embeddable
// struct for each.
package engine
