class { 'redis': bind => '127.0.0.1', manage_repo => false }
