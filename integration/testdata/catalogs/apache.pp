class { 'apache': default_vhost => false, mpm_module => 'event' }
apache::vhost { 'www.example.com': port => 80, docroot => '/srv/www', servername => 'www.example.com', directories => [{ path => '/srv/www', options => ['Indexes'] }] }
