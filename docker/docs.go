package docker

// Doc describes the kind.
func (*ImageRes) Doc() string {
	return `An image that a docker daemon has, or has not. The name is its reference: NAME, NAME:TAG or NAME@sha256:DIGEST, with the address of a
registry before it if it is not of Docker Hub. Without a tag it is latest.

    docker_image:
    - name: registry.example.com/shop/app:1.4
      username: deploy
      recv: {password: "password[registry].password"}

An image that is not there is pulled. An existing image is right, whatever the registry has under that tag by now. A notification has it pulled again. The progress of a pull is logged for debugging only. A pull has no limit of time but the metaparameter ` + "`timeout`" + `.

With ` + "`state: absent`" + ` the reference is removed, and with its last one the image. One of which a container was made is refused, which ` + "`force`" + `
changes for containers that do not run.

The ID and the digest are sent. Whatever happens to images of the daemon is a reason to look again. It comes after the service and the package of the
daemon, as far as they are in the graph.`
}

// Doc describes the kind.
func (*ContainerRes) Doc() string {
	return `A container of a docker daemon. It is kept running, or stopped, or removed, and its settings are kept as the parameters say.

    docker_container:
    - name: web
      image: nginx:1.27
      ports: {tcp: {80: "127.0.0.1:8080"}}
      volumes: [/srv/www:/usr/share/nginx/html:ro]
      env: [TZ=UTC]
      restart: unless-stopped

## What is compared

All parameters are compared with the answers of the daemon, each time that something happens to the container, to an image or to
a network. So mgmt notices if it is stopped, killed, paused, removed, renamed or updated, and if the tag of the image means
another image by now. An absent parameter stands for the value of the image, or else for the default of docker. Settings without
a parameter, such as capabilities, are left as they are.

The restart policy, a limit of memory and networks are altered in place. For anything else the container is replaced. The new one is
made first, as NAME.mgmt-new. Then the old one is stopped and removed, and the new one takes its name and is started. If it can't be
made, the old one goes on. Files that were written in the old one, outside of volumes, are lost. Volumes are never removed.

A container that mgmt has not made, because it has no label ` + Label + `, is started and stopped and altered in place, but it is replaced with ` + "`force`" + ` only.

## Images

The image is pulled when the daemon does not have it; ` + "`pull: always`" + ` pulls it each time before a container is made, ` + "`pull: never`" + ` is for
machines without a network. Where a registry wants a login, let a ` + "`docker_image`" + ` pull it: the container comes after that by itself.

## Secrets

Values of ` + "`secret_env`" + `, and those of variables that ` + "`env`" + ` does not name, are shown by mgmt nowhere, also where a container is listed or imported. They
are not hidden from those who may speak with the daemon: for them the safe way is a file that is mounted.

A notification restarts a container that runs. The ID, the ID of the image and the address are sent. It comes after its image, after the service and the package of the
daemon, and after the files, folders and mounts that it mounts, as far as they are in the graph. A container that is to be removed comes before its image.`
}
