// Routing by number of links.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <deque>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace routing
{

// The way to an address: the interfaces that lead a hop nearer, and the addresses behind them.
using Hops = std::vector<std::pair<uint32_t, ns3::Ipv4Address>>;

// A flow keeps its way among those of the same number of links. The routing of ns-3 spreads packets, not flows.
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
        const auto& [interface, gateway] = found->second.size() == 1
                                             ? found->second.front()
                                             : found->second[Hash(packet, header) % found->second.size()];
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

// A link in one direction.
struct Hop
{
    uint32_t from;
    uint32_t to;
    uint32_t interface;
    ns3::Ipv4Address gateway;
};

// A node is known by the first of its addresses.
inline ns3::Ipv4Address
AddressOf(ns3::Ptr<ns3::Node> node)
{
    return node->GetObject<ns3::Ipv4>()->GetAddress(1, 0).GetLocal();
}

// Tells every node by which links it comes nearer to one of them. Those that do not forward are on no way.
inline void
RouteTo(uint32_t end, const ns3::NodeContainer& nodes, const std::vector<Hop>& hops, const std::set<uint32_t>& ends)
{
    std::vector<uint32_t> distance(nodes.GetN(), nodes.GetN());
    distance[end] = 0;
    for (std::deque<uint32_t> reached{end}; !reached.empty(); reached.pop_front())
    {
        const auto near = reached.front();
        for (const auto& hop : hops)
        {
            if (hop.to == near && distance[hop.from] == nodes.GetN() && (near == end || !ends.count(near)))
            {
                distance[hop.from] = distance[near] + 1;
                reached.push_back(hop.from);
            }
        }
    }
    for (const auto& hop : hops)
    {
        if (distance[hop.from] == distance[hop.to] + 1 && (hop.to == end || !ends.count(hop.to)))
        {
            const auto ipv4 = nodes.Get(hop.from)->GetObject<ns3::Ipv4>();
            const auto routing = ns3::DynamicCast<FlowRouting>(ipv4->GetRoutingProtocol());
            routing->Add(AddressOf(nodes.Get(end)), hop.interface, hop.gateway);
        }
    }
}

} // namespace routing
