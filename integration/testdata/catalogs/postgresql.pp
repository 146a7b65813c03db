class { 'postgresql::globals': version => '15' }
class { 'postgresql::server': }
postgresql::server::db { 'app': user => 'app', password => postgresql_password('app', 'secret') }
postgresql::server::pg_hba_rule { 'app from the net': type => 'host', database => 'app', user => 'app', address => '10.0.0.0/8', auth_method => 'md5' }
