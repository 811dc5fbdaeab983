// Bulk flows over TCP on a network of links with drop-tail queues. Everything about TCP is given as attributes of ns-3, as
// --ns3::TcpSocket::SegmentSize=1400; the last value of an attribute counts.
#include "flows.h"
#include "mended.h"
#include "mended_socket.h"
#include "routing.h"

#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

namespace
{

std::vector<std::string>
Split(const std::string& text, char at)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, at);)
    {
        parts.push_back(part);
    }
    return parts;
}

std::vector<std::string>
Split(const std::string& text, char at, size_t count)
{
    const auto parts = Split(text, at);
    NS_ABORT_MSG_UNLESS(parts.size() == count, text << " has " << parts.size() << " parts, not " << count);
    return parts;
}

ns3::NodeContainer
Nodes(uint32_t count)
{
    ns3::NodeContainer nodes;
    nodes.Create(count);
    ns3::InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    for (auto node = nodes.Begin(); node != nodes.End(); node++)
    {
        (*node)->GetObject<ns3::Ipv4>()->SetRoutingProtocol(ns3::CreateObject<routing::FlowRouting>());
        mended::InstallSockets(*node);
    }
    return nodes;
}

// RATE/QUEUE/LOSS of one direction: 20Mbps/100p/none, or packet=1e-3, bit=1e-8.
void
SetUp(ns3::Ptr<ns3::NetDevice> sender, ns3::Ptr<ns3::NetDevice> receiver, const std::string& direction)
{
    using namespace ns3;
    const auto parts = Split(direction, '/', 3);
    sender->SetAttribute("DataRate", StringValue(parts[0]));
    DynamicCast<PointToPointNetDevice>(sender)->GetQueue()->SetMaxSize(QueueSize(parts[1]));
    if (parts[2] != "none")
    {
        const auto loss = Split(parts[2], '=', 2);
        const auto unit = loss[0] == "packet" ? "ERROR_UNIT_PACKET" : "ERROR_UNIT_BIT";
        auto model = CreateObjectWithAttributes<RateErrorModel>("ErrorRate",
                                                                DoubleValue(std::stod(loss[1])),
                                                                "ErrorUnit",
                                                                StringValue(unit));
        receiver->SetAttribute("ReceiveErrorModel", PointerValue(model));
    }
}

// NODE:NODE:DELAY:DIRECTION:DIRECTION of each link, separated by commas. Nothing stands above the queues unless it is asked
// for: the default is fq_codel and devices that hold it back.
std::vector<routing::Hop>
Links(const ns3::NodeContainer& nodes, const std::string& links, bool codel)
{
    using namespace ns3;
    std::vector<routing::Hop> hops;
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    for (const auto& link : Split(links, ','))
    {
        const auto parts = Split(link, ':', 5);
        const auto a = static_cast<uint32_t>(std::stoul(parts[0]));
        const auto b = static_cast<uint32_t>(std::stoul(parts[1]));
        PointToPointHelper helper;
        if (!codel)
        {
            helper.DisableFlowControl();
        }
        helper.SetChannelAttribute("Delay", StringValue(parts[2]));
        const auto devices = helper.Install(nodes.Get(a), nodes.Get(b));
        SetUp(devices.Get(0), devices.Get(1), parts[3]);
        SetUp(devices.Get(1), devices.Get(0), parts[4]);
        const auto interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        hops.push_back({a, b, interfaces.Get(0).second, interfaces.GetAddress(1)});
        hops.push_back({b, a, interfaces.Get(1).second, interfaces.GetAddress(0)});
    }
    return hops;
}

// Each starts at a random instant of the spread.
std::vector<double>
Starts(double first, double spread, size_t count)
{
    std::vector<double> starts(count, first);
    if (spread > 0)
    {
        const auto later = ns3::CreateObject<ns3::UniformRandomVariable>();
        for (auto& start : starts)
        {
            start += later->GetValue(0, spread);
        }
    }
    return starts;
}

} // namespace

int
main(int argc, char* argv[])
{
    using namespace ns3;
    flows::Options options;
    uint32_t count = 0;
    std::string ends;
    std::string links;
    bool codel = false;
    std::string pairs;
    CommandLine command(__FILE__);
    flows::AddTo(command, options);
    command.AddValue("nodes", "number of nodes", count);
    command.AddValue("ends", "nodes that pass nothing on, separated by commas", ends);
    command.AddValue("links", "NODE:NODE:DELAY:DIRECTION:DIRECTION, see Links", links);
    command.AddValue("codel", "leave fq_codel above the queues of the links", codel);
    command.AddValue("flows", "FROM:TO:START:SPREAD:COUNT of each, separated by commas", pairs);
    command.Parse(argc, argv);

    const auto nodes = Nodes(count);
    const auto hops = Links(nodes, links, codel);
    std::set<uint32_t> silent;
    for (const auto& end : Split(ends, ','))
    {
        silent.insert(static_cast<uint32_t>(std::stoul(end)));
    }
    flows::Flows all(options);
    std::set<uint32_t> routed;
    for (const auto& pair : Split(pairs, ','))
    {
        const auto parts = Split(pair, ':', 5);
        const auto from = static_cast<uint32_t>(std::stoul(parts[0]));
        const auto to = static_cast<uint32_t>(std::stoul(parts[1]));
        for (const auto end : {from, to})
        {
            if (routed.insert(end).second)
            {
                routing::RouteTo(end, nodes, hops, silent);
            }
        }
        const auto address = routing::AddressOf(nodes.Get(to));
        for (const auto start : Starts(std::stod(parts[2]), std::stod(parts[3]), std::stoul(parts[4])))
        {
            all.Add(nodes.Get(from), nodes.Get(to), address, start);
        }
    }
    all.Run();
}
