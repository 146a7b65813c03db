class { 'collectd': purge => true, recurse => true, purge_config => true, manage_repo => false }
collectd::plugin { 'cpu': }
class { 'collectd::plugin::df': mountpoints => ['/'] }
