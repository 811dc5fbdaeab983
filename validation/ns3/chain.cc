// Flows from one end of a chain of links to the other; packets towards the receiver are lost on one of the links.
#include "common.h"

int
main(int argc, char* argv[])
{
    using namespace ns3;
    common::Options options;
    std::string links = "500Mbps:10ms,20Mbps:275ms,20Mbps:275ms,500Mbps:10ms,500Mbps:10ms";
    uint32_t queue = 100;
    uint32_t lossy = 2;
    double loss = 0;
    CommandLine command(__FILE__);
    common::AddTo(command, options);
    command.AddValue("links", "RATE:DELAY[:RATE back] of each link, separated by commas", links);
    command.AddValue("queue", "packets in front of each transmitter", queue);
    command.AddValue("lossy", "the link that loses, counted from 0", lossy);
    command.AddValue("loss", "share of the packets towards the receiver that it loses", loss);
    command.Parse(argc, argv);
    common::SetDefaults(options);

    const auto parts = common::Split(links, ',');
    NS_ABORT_MSG_UNLESS(lossy < parts.size(), "there is no link " << lossy);
    NodeContainer nodes;
    nodes.Create(parts.size() + 1);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4Address end;
    for (uint32_t i = 0; i < parts.size(); i++)
    {
        const auto devices = common::Connect(nodes.Get(i), nodes.Get(i + 1), parts[i], queue);
        if (i == lossy)
        {
            common::Lose(devices.Get(1), loss, "ERROR_UNIT_PACKET");
        }
        end = addresses.Assign(devices).GetAddress(1);
        addresses.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const auto count = common::Split(options.starts, ',').size();
    common::Flows flows(options, count);
    for (size_t i = 0; i < count; i++)
    {
        flows.Add(nodes.Get(0), nodes.Get(parts.size()), end);
    }
    flows.Run();
}
