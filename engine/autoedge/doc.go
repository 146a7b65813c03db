// Package autoedge has the names by which resources find each other. What an EdgeableRes is, and what
// it wants to come before or after itself, it says by UIDs; package transform makes edges of those that
// match. Package traits has the UIDs of things that several kinds know.
package autoedge
