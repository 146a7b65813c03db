nginx:
  pkg.installed: []
  service.running:
  - enable: true
  - watch:
    - file: /etc/nginx/conf.d/site.conf
/etc/nginx/conf.d/site.conf:
  file.managed:
  - contents: |
      server { listen 80; root /srv/www; }
  - user: root
  - mode: "0644"
  - require:
    - pkg: nginx
deploy:
  user.present:
  - home: /srv/www
  - shell: /bin/bash
openssl dhparam -out /etc/nginx/dh.pem 2048:
  cmd.run:
  - creates: /etc/nginx/dh.pem
  - require:
    - pkg: nginx
