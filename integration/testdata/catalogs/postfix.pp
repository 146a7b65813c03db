class { 'postfix': inet_interfaces => 'localhost', root_mail_recipient => 'admin@example.com' }
postfix::config { 'relay_domains': value => 'localhost' }
