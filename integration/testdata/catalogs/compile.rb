# Compiles manifests with the Puppet of this machine: for each of the files named behind
# the folder for its state and the path of the modules one line of JSON, with the catalog or the error.
require 'puppet'
require 'json'

dir, modules = ARGV.shift(2)
Puppet.initialize_settings(%w[confdir codedir vardir ssldir rundir logdir publicdir].flat_map { |s| ["--#{s}", File.join(dir, s)] })
Puppet::Util::Log.level = :err
facts = Puppet::Node::Facts.indirection.find('node', environment: Puppet::Node::Environment.create(:production, []))
ARGV.each do |file|
  environment = Puppet::Node::Environment.create(:production, modules.split(':'), file)
  node = Puppet::Node.new('node', environment: environment, facts: facts)
  node.merge(facts.values)
  begin
    catalog = Puppet.override(current_environment: environment, loaders: Puppet::Pops::Loaders.new(environment), rich_data: true) do
      Puppet::Parser::Compiler.compile(node).to_resource.to_data_hash
    end
    puts JSON.generate({ catalog: catalog })
  rescue StandardError => e
    puts JSON.generate({ error: e.message })
  end
end
