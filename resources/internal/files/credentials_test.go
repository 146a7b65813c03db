package files

import "testing"

func TestIsCredential(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "/x/creds")
	for path, want := range map[string]bool{
		"/run/credentials/mgmt.service/app": true, "/run/credentials/": true, "/x/creds/app": true, "/x/creds/": true, "/x/creds/../creds/a": true,
		"/run/credentialsx/app": false, "/x/creds2/app": false, "/x/creds/../app": false, "/etc/app": false, "": false,
	} {
		if got := IsCredential([]string{"/etc/first", path}); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if IsCredential([]string{"/etc/app"}) || IsCredential(nil) {
		t.Error("without the folder everything is a credential")
	}
}
