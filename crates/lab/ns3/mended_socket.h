// The socket of ns-3 with the lines of its recovery changed that explain why figures differ. All lines are those of
// tcp-socket-base.cc of ns-3.37.
#pragma once

#include "ns3/internet-module.h"

namespace mended
{

class Socket : public ns3::TcpSocketBase
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id =
            ns3::TypeId("ns3::TcpMendedSocket").SetParent<ns3::TcpSocketBase>().AddConstructor<Socket>();
        return id;
    }

  protected:
    // With SACK a retransmission restarts the timer (RFC 6675, section 6); line 3208 sets it only where none runs.
    uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t size, bool withAck) override
    {
        const bool again = seq < m_tcb->m_highTxMark && seq < m_recover;
        const auto sent = ns3::TcpSocketBase::SendDataPacket(seq, size, withAck);
        if (again && m_sackEnabled && m_tcb->m_congState == ns3::TcpSocketState::CA_RECOVERY)
        {
            m_retxEvent.Cancel();
            m_retxEvent = ns3::Simulator::Schedule(m_rto, &Socket::ReTxTimeout, this);
        }
        return sent;
    }

    // With SACK each ACK of new data restarts it; line 2068 does so with the first one of a recovery only.
    void NewAck(const ns3::SequenceNumber32& ack, bool restart) override
    {
        ns3::TcpSocketBase::NewAck(ack, restart || m_sackEnabled);
    }

    // RFC 6582, section 3.2, step 2: no new recovery before more than `recover` is acknowledged; line 1778 begins one when
    // just that is, and when line 2200 has forgotten it.
    void ProcessAck(const ns3::SequenceNumber32& ack,
                    bool scoreboardUpdated,
                    uint32_t delivered,
                    const ns3::SequenceNumber32& oldHead) override
    {
        const bool duplicate = !m_sackEnabled && ack == oldHead && ack < m_tcb->m_highTxMark;
        if (duplicate && ack == m_recover && m_tcb->m_congState != ns3::TcpSocketState::CA_RECOVERY)
        {
            m_recover += 1;
            m_recoverActive = true;
            ns3::TcpSocketBase::ProcessAck(ack, scoreboardUpdated, delivered, oldHead);
            if (m_tcb->m_congState != ns3::TcpSocketState::CA_RECOVERY)
            {
                m_recover -= 1;
            }
            return;
        }
        ns3::TcpSocketBase::ProcessAck(ack, scoreboardUpdated, delivered, oldHead);
    }

    // Guesses at what has arrived end with the ACK of new data (Linux: tcp_remove_reno_sacks), but for the partial ones of a
    // recovery. tcp-tx-buffer.cc:761 makes of a guess that has come to the head a loss, and sends again what has arrived.
    void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override
    {
        const auto ack = header.GetAckNumber();
        const bool partial = ack < m_recover && m_tcb->m_congState == ns3::TcpSocketState::CA_RECOVERY;
        if (!m_sackEnabled && !partial && ack > m_txBuffer->HeadSequence() && m_txBuffer->GetSacked() > 0)
        {
            m_txBuffer->ResetRenoSack();
        }
        ns3::TcpSocketBase::ReceivedAck(packet, header);
    }

    // Line 3829 reduces again in a recovery for the same losses.
    void ReTxTimeout() override
    {
        const bool reduced = m_tcb->m_congState == ns3::TcpSocketState::CA_RECOVERY;
        const auto threshold = m_tcb->m_ssThresh.Get();
        ns3::TcpSocketBase::ReTxTimeout();
        if (reduced)
        {
            m_tcb->m_ssThresh = threshold;
        }
    }

    ns3::Ptr<ns3::TcpSocketBase> Fork() override
    {
        return ns3::CopyObject<Socket>(this);
    }
};

// Makes mended sockets with the controller and the recovery that are the defaults.
class SocketFactory : public ns3::SocketFactory
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id = ns3::TypeId("ns3::TcpMendedSocketFactory").SetParent<ns3::SocketFactory>();
        return id;
    }

    ns3::Ptr<ns3::Socket> CreateSocket() override
    {
        const auto tcp = GetObject<ns3::TcpL4Protocol>();
        const auto socket = ns3::CreateObject<Socket>();
        socket->SetNode(GetObject<ns3::Node>());
        socket->SetTcp(tcp);
        socket->SetRtt(ns3::CreateObject<ns3::RttMeanDeviation>());
        socket->SetCongestionControlAlgorithm(Make<ns3::TcpCongestionOps>(tcp, "SocketType"));
        socket->SetRecoveryAlgorithm(Make<ns3::TcpRecoveryOps>(tcp, "RecoveryType"));
        tcp->AddSocket(socket);
        return socket;
    }

  private:
    template <class T>
    static ns3::Ptr<T> Make(ns3::Ptr<ns3::TcpL4Protocol> tcp, const std::string& attribute)
    {
        ns3::TypeIdValue type;
        tcp->GetAttribute(attribute, type);
        ns3::ObjectFactory factory;
        factory.SetTypeId(type.Get());
        return factory.Create<T>();
    }
};

inline void
InstallSockets(ns3::Ptr<ns3::Node> node)
{
    node->AggregateObject(ns3::CreateObject<SocketFactory>());
}

NS_OBJECT_ENSURE_REGISTERED(Socket);
NS_OBJECT_ENSURE_REGISTERED(SocketFactory);

} // namespace mended
