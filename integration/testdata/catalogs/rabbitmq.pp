class { 'rabbitmq': service_manage => true, port => 5672, delete_guest_user => true, admin_enable => false, repos_ensure => false }
