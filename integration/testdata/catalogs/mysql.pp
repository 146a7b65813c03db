class { 'mysql::server': root_password => 'strong', override_options => { 'mysqld' => { 'max_connections' => '1024' } } }
mysql::db { 'app': user => 'app', password => 'secret', host => 'localhost', grant => ['SELECT', 'UPDATE'] }
