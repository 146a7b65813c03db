package all

// Kinds returns the names of all kinds that come with mgmt, sorted. Each registers
// itself in engine.DefaultRegistry from the init function of its own package.
//
// The list is written by hand, and a test compares it with the registry. So a kind that is renamed
// or lost is seen, and a new one is added on purpose: users find its name in the reference.
func Kinds() []string {
	return []string{
		"apt_key",
		"cron",
		"crontab",
		"download",
		"exec",
		"file",
		"group",
		"gzip",
		"host",
		"hostname",
		"ini_setting",
		"kv",
		"line",
		"mount",
		"msg",
		"net",
		"noop",
		"nspawn",
		"password",
		"pkg",
		"print",
		"schedule",
		"ssh_authorized_key",
		"svc",
		"sysctl",
		"tar",
		"test",
		"timer",
		"user",
		"value",
	}
}
