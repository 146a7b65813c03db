class { 'sssd': domains => { 'example.com' => { 'id_provider' => 'ldap' } } }
