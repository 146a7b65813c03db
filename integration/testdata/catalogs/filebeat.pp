class { 'filebeat': outputs => { 'logstash' => { 'hosts' => ['localhost:5044'] } }, manage_repo => false }
