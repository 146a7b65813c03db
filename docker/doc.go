// Package docker has the kinds docker_container and docker_image. It is a module of its own,
// because its client brings a tree of libraries that most users of mgmt have no use for. Command
// mgmt-docker is mgmt with these two kinds; any other program has them by importing this package.
//
// # Laws
//
//   - Nothing is asked of a daemon with a name, reference or port that was not checked before:
//     Validate refuses texts that could be an option, a path or a second line.
//   - The state of a container, as the daemon tells it with its image, is compared with the wanted
//     state, field by field. No other state is kept, so changes of any person and tool are found.
//   - Fields that the daemon can alter in a running container are altered there. For all else the
//     container is replaced; the old one runs until the new one was made.
//   - A container that mgmt has not made (it has no Label) is never replaced without force.
//   - Values of secret_env, and those of all variables that env does not name, are in no change,
//     log or error. Neither is the password of a registry.
//   - Each call has an end, also where the daemon does not answer (30 s). Only the pull of an image
//     may take as long as it takes; it ends with the context.
//   - A Watch is armed from a moment on that the daemon's own clock has told, so that nothing is
//     lost between a look and the stream of events. Where the daemon goes away it is waited for,
//     and when it is back everything is looked at again.
//
// # The client
//
// It is github.com/moby/moby/client, the one of the docker project. Here that costs 1.5 MB over
// what net/http has. For that it speaks the versions of the API from 1.40 on, TLS as
// DOCKER_CERT_PATH says, and the grammar of references; a client of our own for the dozen calls
// would need all of it again.
package docker
