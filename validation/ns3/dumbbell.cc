// Pairs of ends on one bottleneck; each pair has a delay of its own.
#include "common.h"

int
main(int argc, char* argv[])
{
    using namespace ns3;
    common::Options options;
    std::string access;
    std::string bottleneck;
    std::string exit;
    uint32_t queue = 100;
    CommandLine command(__FILE__);
    common::AddTo(command, options);
    command.AddValue("access", "RATE:DELAY of the link of each sender, separated by commas", access);
    command.AddValue("bottleneck", "RATE:DELAY of the link that all share", bottleneck);
    command.AddValue("exit", "RATE:DELAY of the link of each receiver", exit);
    command.AddValue("queue", "packets in front of the bottleneck", queue);
    command.Parse(argc, argv);
    common::SetDefaults(options);

    const auto links = common::Split(access, ',');
    const auto count = static_cast<uint32_t>(links.size());
    NodeContainer routers;
    NodeContainer senders;
    NodeContainer receivers;
    routers.Create(2);
    senders.Create(count);
    receivers.Create(count);
    InternetStackHelper().Install(NodeContainer(routers, senders, receivers));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(common::Connect(routers.Get(0), routers.Get(1), bottleneck, queue));
    std::vector<Ipv4Address> ends;
    const uint32_t ample = 10'000;
    for (uint32_t i = 0; i < count; i++)
    {
        addresses.NewNetwork();
        addresses.Assign(common::Connect(senders.Get(i), routers.Get(0), links[i], ample));
        addresses.NewNetwork();
        const auto devices = common::Connect(routers.Get(1), receivers.Get(i), exit, ample);
        ends.push_back(addresses.Assign(devices).GetAddress(1));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    common::Flows flows(options, count);
    for (uint32_t i = 0; i < count; i++)
    {
        flows.Add(senders.Get(i), receivers.Get(i), ends[i]);
    }
    flows.Run();
}
