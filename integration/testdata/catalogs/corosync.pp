class { 'corosync': enable_secauth => false, bind_address => '192.168.2.10', multicast_address => '239.1.1.2', authkey => '/etc/k' }
