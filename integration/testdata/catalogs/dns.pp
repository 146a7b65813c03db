class { 'dns': }
dns::zone { 'example.com': }
