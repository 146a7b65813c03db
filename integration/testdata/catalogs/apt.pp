class { 'apt': update => { 'frequency' => 'daily' } }
apt::source { 'backports': location => 'http://mirror.example/debian', release => 'bookworm-backports', repos => 'main' }
apt::pin { 'backports': packages => '*', priority => 200, release => 'bookworm-backports' }
apt::conf { 'norecommends': content => 'APT::Install-Recommends "0";', priority => '20' }
