// What the programs of the comparison share: TCP options, links, flows, and the line of JSON that each prints.
#pragma once

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <ctime>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace common
{

// Options of every program; the defaults are those of the chain.
struct Options
{
    std::string congestion = "NewReno";
    uint32_t mss = 1400;
    uint32_t delayedAcks = 1;
    bool sack = true;
    std::string recovery = "Prr"; // with SACK; without it that of RFC 6582
    bool windowScaling = true;
    std::string granularity = "200ms";
    double rttGain = 0.125;
    bool hystart = false;
    uint32_t sendBuffer = 8'000'000;
    uint32_t receiveBuffer = 8'000'000;
    uint32_t write = 14'000;
    std::string starts = "0";
    double duration = 120;
    uint64_t bytes = 0; // of each flow; 0: without end
    uint32_t seed = 1;
    bool hops = false;
};

inline void
AddTo(ns3::CommandLine& command, Options& options)
{
    command.AddValue("congestion", "name of the controller, as NewReno", options.congestion);
    command.AddValue("mss", "payload of a full segment, options not included", options.mss);
    command.AddValue("delayed-acks", "an ACK for every n-th segment", options.delayedAcks);
    command.AddValue("sack", "selective acknowledgements", options.sack);
    command.AddValue("recovery", "recovery with SACK, as Prr", options.recovery);
    command.AddValue("window-scaling", "window scale option", options.windowScaling);
    command.AddValue("granularity", "clock granularity of the retransmission timer", options.granularity);
    command.AddValue("rtt-gain", "weight of a sample in the smoothed round-trip time", options.rttGain);
    command.AddValue("hystart", "CUBIC leaves slow start when the round-trip time rises", options.hystart);
    command.AddValue("send-buffer", "send buffer in bytes", options.sendBuffer);
    command.AddValue("receive-buffer", "receive buffer in bytes", options.receiveBuffer);
    command.AddValue("write", "bytes that the application writes at once", options.write);
    command.AddValue("starts", "when each flow starts, in seconds, separated by commas", options.starts);
    command.AddValue("duration", "simulated seconds", options.duration);
    command.AddValue("bytes", "size of each flow; 0: as long as the run", options.bytes);
    command.AddValue("seed", "number of the run", options.seed);
    command.AddValue("hops", "count packets per link: slower", options.hops);
}

inline std::vector<std::string>
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

inline void
SetDefaults(const Options& options)
{
    using namespace ns3;
    RngSeedManager::SetRun(options.seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::Tcp" + options.congestion));
    // Proportional rate reduction is for SACK.
    const auto recovery = options.sack ? options.recovery : "Classic";
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName("ns3::Tcp" + recovery + "Recovery")));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(options.sack));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(options.windowScaling));
    // With 1 ms the timer is the smoothed round-trip time and 1 ms once the variance is gone: any queue sets it off.
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", StringValue(options.granularity));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue("200ms"));
    Config::SetDefault("ns3::RttMeanDeviation::Alpha", DoubleValue(options.rttGain));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(options.mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(options.delayedAcks));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", StringValue("200ms"));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(15));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(options.sendBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(options.receiveBuffer));
    Config::SetDefault("ns3::TcpWestwood::ProtocolType", StringValue("WestwoodPlus"));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(options.hystart));
}

// "20Mbps:275ms", or "2Mbps:250ms:256kbps" with another rate from b to a: a link with drop-tail queues of so many packets and nothing in front of them. The default would be
// fq_codel above a device that holds it back.
inline ns3::NetDeviceContainer
Connect(ns3::Ptr<ns3::Node> a, ns3::Ptr<ns3::Node> b, const std::string& link, uint32_t queue)
{
    using namespace ns3;
    const auto parts = Split(link, ':');
    NS_ABORT_MSG_UNLESS(parts.size() == 2 || parts.size() == 3, "a link is RATE:DELAY[:RATE], not " << link);
    PointToPointHelper helper;
    helper.DisableFlowControl();
    helper.SetDeviceAttribute("DataRate", StringValue(parts[0]));
    helper.SetChannelAttribute("Delay", StringValue(parts[1]));
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queue) + "p"));
    const auto devices = helper.Install(a, b);
    if (parts.size() == 3)
    {
        devices.Get(1)->SetAttribute("DataRate", StringValue(parts[2]));
    }
    return devices;
}

inline void
Lose(ns3::Ptr<ns3::NetDevice> receiver, double rate, const std::string& unit)
{
    using namespace ns3;
    if (rate > 0)
    {
        auto model = CreateObjectWithAttributes<RateErrorModel>("ErrorRate",
                                                                DoubleValue(rate),
                                                                "ErrorUnit",
                                                                StringValue(unit));
        receiver->SetAttribute("ReceiveErrorModel", PointerValue(model));
    }
}

// Flows and what they delivered.
class Flows
{
  public:
    Flows(const Options& options, uint32_t count)
        : m_options(options)
    {
        const auto starts = Split(options.starts, ',');
        NS_ABORT_MSG_UNLESS(starts.size() == count, count << " flows have " << starts.size() << " starts");
        for (const auto& start : starts)
        {
            m_starts.push_back(std::stod(start));
        }
    }

    // The next flow, from one node to an address of another.
    void Add(ns3::Ptr<ns3::Node> from, ns3::Ptr<ns3::Node> to, ns3::Ipv4Address address)
    {
        using namespace ns3;
        const auto index = m_sinks.size();
        const InetSocketAddress end(address, static_cast<uint16_t>(5000 + index));
        m_sinks.push_back(DynamicCast<PacketSink>(PacketSinkHelper("ns3::TcpSocketFactory", end).Install(to).Get(0)));
        m_sinks.back()->TraceConnectWithoutContext(
            "Rx",
            Callback<void, Ptr<const Packet>, const Address&>(
                [this, index](Ptr<const Packet>, const Address&) { OnReceived(index); }));
        m_finished.push_back(0);
        BulkSendHelper bulk("ns3::TcpSocketFactory", end);
        bulk.SetAttribute("MaxBytes", UintegerValue(m_options.bytes));
        bulk.SetAttribute("SendSize", UintegerValue(m_options.write));
        bulk.Install(from).Start(Seconds(m_starts[index]));
    }

    // Runs and prints {"delivered_bytes": [...], "completion_s": [...], "cpu_s": ..., "packet_hops": ...}.
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
        std::cout << "{\"delivered_bytes\": [";
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

} // namespace common
