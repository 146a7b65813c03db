class { 'ssh': storeconfigs_enabled => false, server_options => { 'PasswordAuthentication' => 'no', 'PermitRootLogin' => 'no' }, client_options => { 'Host *' => { 'HashKnownHosts' => 'yes' } } }
