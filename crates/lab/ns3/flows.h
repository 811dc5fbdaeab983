// Bulk flows over TCP, and the line of JSON that tells what became of them.
#pragma once

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <ctime>
#include <iostream>
#include <string>
#include <vector>

namespace flows
{

struct Options
{
    double duration = 0;
    uint64_t bytes = 0;
    uint32_t write = 0;
    std::string sockets = "ns3::TcpSocketFactory";
    bool hops = false;
};

inline void
AddTo(ns3::CommandLine& command, Options& options)
{
    command.AddValue("duration", "simulated seconds", options.duration);
    command.AddValue("bytes", "size of each flow; 0: as long as the run", options.bytes);
    command.AddValue("write", "bytes that the application writes at once", options.write);
    command.AddValue("sockets", "what makes the sockets of the senders", options.sockets);
    command.AddValue("hops", "count packets per link: slower", options.hops);
}

class Flows
{
  public:
    explicit Flows(const Options& options)
        : m_options(options)
    {
    }

    // The next flow, from one node to an address of another. It listens no longer than it lasts: ns-3 looks at all that
    // listen for each packet.
    void Add(ns3::Ptr<ns3::Node> from, ns3::Ptr<ns3::Node> to, ns3::Ipv4Address address, double start)
    {
        using namespace ns3;
        const auto index = m_sinks.size();
        const InetSocketAddress end(address, static_cast<uint16_t>(5000 + index));
        auto sink = PacketSinkHelper("ns3::TcpSocketFactory", end).Install(to);
        sink.Start(Seconds(start));
        m_sinks.push_back(DynamicCast<PacketSink>(sink.Get(0)));
        m_sinks.back()->TraceConnectWithoutContext(
            "Rx",
            Callback<void, Ptr<const Packet>, const Address&>(
                [this, index](Ptr<const Packet>, const Address&) { OnReceived(index); }));
        m_starts.push_back(start);
        m_finished.push_back(0);
        BulkSendHelper bulk(m_options.sockets, end);
        bulk.SetAttribute("MaxBytes", UintegerValue(m_options.bytes));
        bulk.SetAttribute("SendSize", UintegerValue(m_options.write));
        bulk.Install(from).Start(Seconds(start));
    }

    // Runs and prints {"start_s": [...], "delivered_bytes": [...], "completion_s": [...], "cpu_s": ..., "packet_hops": ...}.
    void Run()
    {
        using namespace ns3;
        if (m_options.hops)
        {
            Config::ConnectWithoutContext(
                "/NodeList/*/DeviceList/*/$ns3::PointToPointNetDevice/PhyTxEnd",
                Callback<void, Ptr<const Packet>>([this](Ptr<const Packet>) { m_hops++; }));
        }
        Simulator::Stop(Seconds(m_options.duration));
        const auto before = std::clock();
        Simulator::Run();
        const double cpu = double(std::clock() - before) / CLOCKS_PER_SEC;
        std::cout << "{\"start_s\": [";
        for (size_t i = 0; i < m_starts.size(); i++)
        {
            std::cout << (i ? ", " : "") << m_starts[i];
        }
        std::cout << "], \"delivered_bytes\": [";
        for (size_t i = 0; i < m_sinks.size(); i++)
        {
            std::cout << (i ? ", " : "") << m_sinks[i]->GetTotalRx();
        }
        std::cout << "], \"completion_s\": [";
        for (size_t i = 0; i < m_sinks.size(); i++)
        {
            std::cout << (i ? ", " : "");
            m_finished[i] > 0 ? std::cout << m_finished[i] - m_starts[i] : std::cout << "null";
        }
        std::cout << "], \"cpu_s\": " << cpu << ", \"packet_hops\": " << m_hops << "}" << std::endl;
        Simulator::Destroy();
    }

  private:
    void OnReceived(size_t index)
    {
        if (m_options.bytes > 0 && m_sinks[index]->GetTotalRx() >= m_options.bytes && m_finished[index] == 0)
        {
            m_finished[index] = ns3::Simulator::Now().GetSeconds();
            m_sinks[index]->GetListeningSocket()->Close();
            if (++m_done == m_sinks.size())
            {
                ns3::Simulator::Stop();
            }
        }
    }

    Options m_options;
    std::vector<double> m_starts;
    std::vector<ns3::Ptr<ns3::PacketSink>> m_sinks;
    std::vector<double> m_finished;
    size_t m_done = 0;
    uint64_t m_hops = 0;
};

} // namespace flows
