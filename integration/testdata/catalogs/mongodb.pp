class { 'mongodb::server': port => 27018 }
