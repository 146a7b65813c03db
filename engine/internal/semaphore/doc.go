// Package semaphore reads the names of semaphores, as the metaparameter sema has them.
package semaphore
