// Package clock has a clock as a value, and on top of it what packages time and context offer by
// the clock of the machine: timers, tickers, sleeps and timeouts.
//
// Code of the engine and of kinds never reads the time itself. It takes the clock of its Host, by
// engine.ClockOf, so a test or a simulated machine decides what time it is.
package clock
