include haproxy
haproxy::listen { 'web': ipaddress => '0.0.0.0', ports => '8080', mode => 'http', collect_exported => false, options => { 'balance' => 'roundrobin' } }
haproxy::balancermember { 'web1': listening_service => 'web', server_names => 'web1', ipaddresses => '10.0.0.1', ports => '80', options => 'check' }
haproxy::balancermember { 'web2': listening_service => 'web', server_names => 'web2', ipaddresses => '10.0.0.2', ports => '80', options => 'check' }
