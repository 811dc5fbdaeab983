// Terminals on two sides of layers of routers, dishes and satellites, with many ways of equal length. A flow keeps its
// way. The routing of ns-3 spreads packets, not flows, so the choice among equal ways is made here.
#include "common.h"

#include <map>

namespace
{

// The way to an address: the interfaces that lead a hop nearer, and the addresses behind them.
using Hops = std::vector<std::pair<uint32_t, ns3::Ipv4Address>>;

class FlowRouting : public ns3::Ipv4RoutingProtocol
{
  public:
    void Add(ns3::Ipv4Address destination, uint32_t interface, ns3::Ipv4Address gateway)
    {
        m_hops[destination].emplace_back(interface, gateway);
    }

    ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet> packet,
                                         const ns3::Ipv4Header& header,
                                         ns3::Ptr<ns3::NetDevice>,
                                         ns3::Socket::SocketErrno& error) override
    {
        auto route = Route(packet, header);
        error = route ? ns3::Socket::ERROR_NOTERROR : ns3::Socket::ERROR_NOROUTETOHOST;
        return route;
    }

    bool RouteInput(ns3::Ptr<const ns3::Packet> packet,
                    const ns3::Ipv4Header& header,
                    ns3::Ptr<const ns3::NetDevice> device,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        const auto interface = m_ipv4->GetInterfaceForDevice(device);
        if (m_ipv4->IsDestinationAddress(header.GetDestination(), interface))
        {
            deliver(packet, header, interface);
            return true;
        }
        auto route = Route(packet, header);
        NS_ABORT_MSG_UNLESS(route, "no way to " << header.GetDestination());
        forward(route, packet, header);
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, ns3::Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, ns3::Ipv4InterfaceAddress) override
    {
    }

    void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper>, ns3::Time::Unit) const override
    {
    }

  private:
    ns3::Ptr<ns3::Ipv4Route> Route(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header& header) const
    {
        const auto found = m_hops.find(header.GetDestination());
        if (found == m_hops.end())
        {
            return nullptr;
        }
        const auto& [interface, gateway] = found->second[Hash(packet, header) % found->second.size()];
        auto route = ns3::Create<ns3::Ipv4Route>();
        route->SetDestination(header.GetDestination());
        route->SetGateway(gateway);
        route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
        route->SetSource(m_ipv4->GetAddress(1, 0).GetLocal());
        return route;
    }

    // The same for all packets of one direction of a connection, other in each node and run. A socket that only asks
    // for its source address has no ports yet.
    uint64_t Hash(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header& header) const
    {
        ns3::TcpHeader tcp;
        if (packet && packet->GetSize() >= 20)
        {
            packet->PeekHeader(tcp);
        }
        std::ostringstream text;
        text << header.GetSource() << ' ' << header.GetDestination() << ' ' << tcp.GetSourcePort() << ' '
             << tcp.GetDestinationPort() << ' ' << m_ipv4->GetObject<ns3::Node>()->GetId() << ' '
             << ns3::RngSeedManager::GetRun();
        return ns3::Hash64(text.str());
    }

    ns3::Ptr<ns3::Ipv4> m_ipv4;
    std::map<ns3::Ipv4Address, Hops> m_hops;
};

struct Hop
{
    ns3::Ptr<ns3::Node> node;
    ns3::Ptr<ns3::Node> next;
    uint32_t interface;
    ns3::Ipv4Address gateway;
};

// All links between two layers. Hops to the right lead from the left one to the right one.
class Meshes
{
  public:
    explicit Meshes(uint32_t queue)
        : m_queue(queue)
    {
    }

    void Add(const ns3::NodeContainer& left, const ns3::NodeContainer& right, const std::string& link, double ber)
    {
        for (auto a = left.Begin(); a != left.End(); a++)
        {
            for (auto b = right.Begin(); b != right.End(); b++)
            {
                const auto devices = common::Connect(*a, *b, link, m_queue);
                common::Lose(devices.Get(0), ber, "ERROR_UNIT_BIT");
                common::Lose(devices.Get(1), ber, "ERROR_UNIT_BIT");
                const auto interfaces = m_addresses.Assign(devices);
                m_addresses.NewNetwork();
                m_toRight.push_back({*a, *b, interfaces.Get(0).second, interfaces.GetAddress(1)});
                m_toLeft.push_back({*b, *a, interfaces.Get(1).second, interfaces.GetAddress(0)});
            }
        }
    }

    // A node is known by the first of its addresses.
    static ns3::Ipv4Address AddressOf(ns3::Ptr<ns3::Node> node)
    {
        return node->GetObject<ns3::Ipv4>()->GetAddress(1, 0).GetLocal();
    }

    // Every terminal of a side is reached over every link towards it, but not by way of another terminal.
    void Route(const ns3::NodeContainer& leftmost, const ns3::NodeContainer& rightmost) const
    {
        Route(m_toRight, rightmost);
        Route(m_toLeft, leftmost);
    }

  private:
    static void Route(const std::vector<Hop>& hops, const ns3::NodeContainer& ends)
    {
        for (const auto& hop : hops)
        {
            const auto routing =
                ns3::DynamicCast<FlowRouting>(hop.node->GetObject<ns3::Ipv4>()->GetRoutingProtocol());
            for (auto end = ends.Begin(); end != ends.End(); end++)
            {
                if (*end == hop.next || !ends.Contains(hop.next->GetId()))
                {
                    routing->Add(AddressOf(*end), hop.interface, hop.gateway);
                }
            }
        }
    }

    uint32_t m_queue;
    ns3::Ipv4AddressHelper m_addresses{"10.0.0.0", "255.255.255.252"};
    std::vector<Hop> m_toRight;
    std::vector<Hop> m_toLeft;
};

ns3::NodeContainer
Layer(uint32_t count)
{
    ns3::NodeContainer nodes;
    nodes.Create(count);
    ns3::InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    for (auto node = nodes.Begin(); node != nodes.End(); node++)
    {
        (*node)->GetObject<ns3::Ipv4>()->SetRoutingProtocol(ns3::CreateObject<FlowRouting>());
    }
    return nodes;
}

} // namespace

int
main(int argc, char* argv[])
{
    using namespace ns3;
    common::Options options;
    uint32_t queue = 100;
    double ber = 0;
    uint32_t perTerminal = 1;
    CommandLine command(__FILE__);
    common::AddTo(command, options);
    command.AddValue("queue", "packets in front of each transmitter", queue);
    command.AddValue("ber", "bit errors of both directions of the links of satellites", ber);
    command.AddValue("flows", "flows of each terminal", perTerminal);
    command.Parse(argc, argv);
    common::SetDefaults(options);

    const std::string land = "500Mbps:10ms";
    const std::string space = "20Mbps:275ms";
    const uint32_t terminals = 5;
    const auto left = Layer(terminals);
    const auto leftRouters = Layer(3);
    const auto leftDishes = Layer(4);
    const auto satellites = Layer(6);
    const auto rightDishes = Layer(4);
    const auto rightRouters = Layer(3);
    const auto right = Layer(terminals);
    Meshes meshes(queue);
    meshes.Add(left, leftRouters, land, 0);
    meshes.Add(leftRouters, leftDishes, land, 0);
    meshes.Add(leftDishes, satellites, space, ber);
    meshes.Add(satellites, rightDishes, space, ber);
    meshes.Add(rightDishes, rightRouters, land, 0);
    meshes.Add(rightRouters, right, land, 0);
    meshes.Route(left, right);

    common::Flows flows(options, terminals * perTerminal);
    for (uint32_t n = 0; n < perTerminal; n++)
    {
        for (uint32_t i = 0; i < terminals; i++)
        {
            const auto to = right.Get(terminals - 1 - i);
            flows.Add(left.Get(i), to, Meshes::AddressOf(to));
        }
    }
    flows.Run();
}
