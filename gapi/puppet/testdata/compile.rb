# Compiles manifests with the Puppet of this machine, as `puppet catalog compile` does: for each of the files named behind
# the folder for its state and the path of the modules one line of JSON, with the catalog, as that command prints it and with
# rich data, or with the error.
#
# The facts are found once, and without those that modules bring: these ask programs of the machine, and all of them take four
# times as long as what Facter itself finds.
require 'puppet'
require 'json'

dir, modules = ARGV.shift(2)
Puppet.initialize_settings(%w[confdir codedir vardir ssldir rundir logdir publicdir].flat_map { |s| ["--#{s}", File.join(dir, s)] })
Puppet::Util::Log.level = :err
Puppet::Resource::Catalog.indirection.terminus_class = :compiler
facts = Puppet::Node::Facts.indirection.find('node', environment: Puppet::Node::Environment.create(:production, []))
ARGV.each do |file|
  environment = Puppet::Node::Environment.create(:production, modules.split(':'), file)
  node = Puppet::Node.new('node', environment: environment, facts: facts)
  node.merge(facts.values)
  begin
    catalog = Puppet.override(current_environment: environment, loaders: Puppet::Pops::Loaders.new(environment)) do
      compiled = Puppet::Resource::Catalog.indirection.find('node', use_node: node, environment: environment)
      { plain: false, rich: true }.transform_values { |rich| Puppet.override(rich_data: rich) { compiled.to_data_hash } }
    end
    puts JSON.generate(catalog)
  rescue StandardError => e
    puts JSON.generate({ error: e.message })
  end
end
