// Controllers of ns-3 with the lines changed that explain why figures differ. Each says which line it means; all
// lines are those of ns-3.37.
#pragma once

#include "ns3/internet-module.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace mended
{

// RFC 5681, equation 4. Limited Transmit does not count.
inline uint32_t
FlightSize(ns3::Ptr<const ns3::TcpSocketState> tcb)
{
    const auto outstanding = static_cast<uint32_t>(tcb->m_highTxMark.Get() - tcb->m_lastAckedSeq);
    return std::min(outstanding, tcb->m_cWnd.Get());
}

inline uint32_t
HalfTheFlight(ns3::Ptr<const ns3::TcpSocketState> tcb)
{
    return std::max(2 * tcb->m_segmentSize, FlightSize(tcb) / 2);
}

// tcp-socket-base.cc:1685 hands over what is in the network, losses and SACKed segments taken off, and
// tcp-congestion-ops.cc:248 halves that; its line 197 cuts the growth per ACK to whole bytes.
class NewReno : public ns3::TcpNewReno
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id =
            ns3::TypeId("ns3::TcpMendedNewReno").SetParent<ns3::TcpNewReno>().AddConstructor<NewReno>();
        return id;
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t) override
    {
        return HalfTheFlight(tcb);
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<NewReno>(this);
    }

  protected:
    void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments) override
    {
        if (segments > 0)
        {
            m_part += double(tcb->m_segmentSize) * tcb->m_segmentSize / tcb->m_cWnd;
            const auto whole = static_cast<uint32_t>(m_part);
            m_part -= whole;
            tcb->m_cWnd += whole;
        }
    }

  private:
    double m_part = 0;
};

// After a timeout an ACK may acknowledge what had arrived before it; tcp-socket-base.cc:2096 counts that, too. RFC 3465,
// section 2.3, allows one segment for an ACK.
inline bool
AfterTimeout(ns3::Ptr<const ns3::TcpSocketState> tcb)
{
    return tcb->m_congState == ns3::TcpSocketState::CA_LOSS;
}

// The ACK that ends a recovery acknowledges a window that the recovery has counted before. tcp-socket-base.cc:2213 lets the
// window of LinuxReno and Hybla grow by all of it; tcp-cubic.cc:206 adds it up, and line 217 takes it off again one ACK after the
// other, each of which lets the window grow by a segment until it has reached the cubic function.
template <class Base>
class CountsOnce : public Base
{
  public:
    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments) override
    {
        const bool ended = std::exchange(m_ended, false);
        Grow(tcb, ended || AfterTimeout(tcb) ? 1 : segments);
    }

    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb, ns3::TcpSocketState::TcpCongState_t state) override
    {
        m_ended = state == ns3::TcpSocketState::CA_OPEN && tcb->m_congState == ns3::TcpSocketState::CA_RECOVERY;
        Base::CongestionStateSet(tcb, state);
    }

  protected:
    virtual void Grow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments)
    {
        Base::IncreaseWindow(tcb, segments);
    }

  private:
    bool m_ended = false;
};

// tcp-linux-reno.cc:144 halves cwnd, as Linux does, which is above FlightSize where the advertised window is the limit.
class LinuxReno : public CountsOnce<ns3::TcpLinuxReno>
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id =
            ns3::TypeId("ns3::TcpMendedLinuxReno").SetParent<ns3::TcpLinuxReno>().AddConstructor<LinuxReno>();
        return id;
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t) override
    {
        return HalfTheFlight(tcb);
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<LinuxReno>(this);
    }
};

// tcp-cubic.cc has no Reno-friendly region (RFC 9438, section 4.3): with short round trips the window grows slower than that
// of Reno. Its line 304 lets the window grow by a segment for 20 acknowledged ones, 5 % per round trip, as long as there is no
// last maximum, which is so after each timeout (line 452); the RFC, section 4.8, has the cubic function there, too.
class Cubic : public CountsOnce<ns3::TcpCubic>
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id =
            ns3::TypeId("ns3::TcpMendedCubic").SetParent<ns3::TcpCubic>().AddConstructor<Cubic>();
        return id;
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t flight) override
    {
        m_before = std::exchange(m_prior, Window(tcb));
        m_estimate = 0;
        return CountsOnce<ns3::TcpCubic>::GetSsThresh(tcb, flight);
    }

    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb, ns3::TcpSocketState::TcpCongState_t state) override
    {
        CountsOnce<ns3::TcpCubic>::CongestionStateSet(tcb, state);
        if (state == ns3::TcpSocketState::CA_LOSS)
        {
            // A maximum below any window is none to return to.
            const auto least = ns3::CreateObject<ns3::TcpSocketState>();
            least->m_segmentSize = tcb->m_segmentSize;
            least->m_cWnd = tcb->m_segmentSize;
            CountsOnce<ns3::TcpCubic>::GetSsThresh(least, 0);
            m_prior = tcb->m_congState == ns3::TcpSocketState::CA_RECOVERY ? m_before : m_prior;
        }
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<Cubic>(this);
    }

  protected:
    void Grow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments) override
    {
        const bool avoidance = tcb->m_cWnd >= tcb->m_ssThresh;
        const double window = Window(tcb);
        CountsOnce<ns3::TcpCubic>::Grow(tcb, segments);
        if (!avoidance)
        {
            m_estimate = 0;
            return;
        }
        m_estimate = m_estimate > 0 ? m_estimate : window;
        const double alpha = m_estimate < m_prior ? 3 * (1 - BETA) / (1 + BETA) : 1;
        m_estimate += alpha * segments / window;
        tcb->m_cWnd = std::max(tcb->m_cWnd.Get(), static_cast<uint32_t>(m_estimate * tcb->m_segmentSize));
    }

  private:
    static constexpr double BETA = 0.7;

    static double Window(ns3::Ptr<const ns3::TcpSocketState> tcb)
    {
        return double(tcb->m_cWnd) / tcb->m_segmentSize;
    }

    // W_est and cwnd_prior, in segments, and what that was before the last reduction.
    double m_estimate = 0;
    double m_prior = 0;
    double m_before = 0;
};

// tcp-hybla.cc:87 computes rho only with a round-trip time equal to the smallest. That of the handshake, whose packets are
// short, stays the smallest, and no controller is told of it.
class Hybla : public CountsOnce<ns3::TcpHybla>
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id =
            ns3::TypeId("ns3::TcpMendedHybla").SetParent<ns3::TcpHybla>().AddConstructor<Hybla>();
        return id;
    }

    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments, const ns3::Time&) override
    {
        ns3::TcpHybla::PktsAcked(tcb, segments, tcb->m_minRtt);
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t) override
    {
        return HalfTheFlight(tcb);
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<Hybla>(this);
    }
};

// tcp-vegas.cc:293 takes a segment off at a loss, or what was gained since the last; the paper, and Linux, reduce. After a
// recovery its line 148 has the next round decide, by samples of segments sent before; here that round passes. Its line 209
// rounds the window without a queue down and so the queue up to whole segments: a queue below alpha = 2 is below 3 then.
class Vegas : public ns3::TcpVegas
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id =
            ns3::TypeId("ns3::TcpMendedVegas").SetParent<ns3::TcpVegas>().AddConstructor<Vegas>();
        return id;
    }

    void Init(ns3::Ptr<ns3::TcpSocketState>) override
    {
        SetAttribute("Alpha", ns3::UintegerValue(3));
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t inFlight) override
    {
        // Vegas itself calls it with nothing in flight.
        return inFlight == 0 ? ns3::TcpVegas::GetSsThresh(tcb, inFlight) : HalfTheFlight(tcb);
    }

    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb, ns3::TcpSocketState::TcpCongState_t state) override
    {
        const auto before = tcb->m_congState.Get();
        m_passing = state == ns3::TcpSocketState::CA_OPEN &&
                    (before == ns3::TcpSocketState::CA_RECOVERY || before == ns3::TcpSocketState::CA_LOSS);
        m_end = tcb->m_nextTxSequence;
        ns3::TcpVegas::CongestionStateSet(tcb, state);
    }

    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments) override
    {
        if (!m_passing)
        {
            ns3::TcpVegas::IncreaseWindow(tcb, segments);
            return;
        }
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            SlowStart(tcb, segments);
        }
        if (tcb->m_lastAckedSeq >= m_end)
        {
            m_passing = false;
            ns3::TcpVegas::CongestionStateSet(tcb, ns3::TcpSocketState::CA_OPEN);
        }
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<Vegas>(this);
    }

  private:
    bool m_passing = false;
    ns3::SequenceNumber32 m_end;
};

// Westwood+ as in Linux. tcp-socket-base.cc:1999 counts a segment for each duplicate ACK, and its line 2168 counts all
// segments of the ACK that ends the recovery once more: the bandwidth comes out as up to twice of what it is.
// tcp-westwood.cc:169 has another filter, which starts at zero, and its line 185 sets ssthresh at the loss, not at the end
// of the recovery.
class Westwood : public ns3::TcpNewReno
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id =
            ns3::TypeId("ns3::TcpMendedWestwood").SetParent<ns3::TcpNewReno>().AddConstructor<Westwood>();
        return id;
    }

    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t, const ns3::Time& rtt) override
    {
        const auto now = ns3::Simulator::Now();
        m_bytes += std::max(0, tcb->m_lastAckedSeq - m_counted);
        m_counted = std::max(m_counted, tcb->m_lastAckedSeq);
        if (m_start.IsZero())
        {
            m_start = now;
        }
        else if (now - m_start > std::max(rtt, ns3::MilliSeconds(50)))
        {
            const double sample = m_bytes / (now - m_start).GetSeconds();
            m_once = m_twice > 0 ? (7 * m_once + sample) / 8 : sample;
            m_twice = m_twice > 0 ? (7 * m_twice + m_once) / 8 : sample;
            m_start = now;
            m_bytes = 0;
        }
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t) override
    {
        return HalfTheFlight(tcb);
    }

    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb, ns3::TcpSocketState::TcpCongState_t state) override
    {
        const bool ended =
            state == ns3::TcpSocketState::CA_OPEN && tcb->m_congState == ns3::TcpSocketState::CA_RECOVERY;
        if ((ended || state == ns3::TcpSocketState::CA_LOSS) && m_twice > 0)
        {
            const auto segments = std::floor(m_twice * tcb->m_minRtt.GetSeconds() / tcb->m_segmentSize);
            tcb->m_ssThresh = static_cast<uint32_t>(std::max(2.0, segments)) * tcb->m_segmentSize;
        }
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<Westwood>(this);
    }

  private:
    ns3::SequenceNumber32 m_counted{1};
    ns3::Time m_start{0};
    double m_bytes = 0;
    double m_once = 0;
    double m_twice = 0;
};

// tcp-prr-recovery.cc:96 multiplies two 32-bit numbers of bytes before it goes over to real ones: with windows above some
// 60 segments the product wraps around, and nothing is sent until what is in flight has fallen to ssthresh. Below it line 113
// allows no more than what an ACK delivers, but with one that acknowledges a retransmission cumulatively: data lost meanwhile
// leaves in one piece then. RFC 6937 has its slow start there (PRR-SSRB).
class PrrRecovery : public ns3::TcpClassicRecovery
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id = ns3::TypeId("ns3::TcpMendedPrrRecovery")
                                    .SetParent<ns3::TcpClassicRecovery>()
                                    .AddConstructor<PrrRecovery>();
        return id;
    }

    void EnterRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t, uint32_t outstanding, uint32_t delivered) override
    {
        m_out = 0;
        m_delivered = 0;
        m_flight = outstanding;
        DoRecovery(tcb, delivered);
    }

    void DoRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t delivered) override
    {
        m_delivered += delivered;
        const double pipe = tcb->m_bytesInFlight;
        const double threshold = tcb->m_ssThresh;
        double send = 0;
        if (pipe > threshold)
        {
            send = std::ceil(m_delivered * threshold / m_flight) - m_out;
        }
        else
        {
            const double limit = std::max<double>(m_delivered - m_out, delivered) + tcb->m_segmentSize;
            send = std::min(limit, threshold - pipe);
        }
        send = std::max(send, m_out > 0 ? 0.0 : tcb->m_segmentSize);
        tcb->m_cWnd = static_cast<uint32_t>(pipe + send);
        tcb->m_cWndInfl = tcb->m_cWnd;
    }

    void ExitRecovery(ns3::Ptr<ns3::TcpSocketState> tcb) override
    {
        tcb->m_cWndInfl = tcb->m_cWnd.Get();
    }

    void UpdateBytesSent(uint32_t sent) override
    {
        m_out += sent;
    }

    ns3::Ptr<ns3::TcpRecoveryOps> Fork() override
    {
        return ns3::CopyObject<PrrRecovery>(this);
    }

    std::string GetName() const override
    {
        return "MendedPrrRecovery";
    }

  private:
    double m_out = 0;
    double m_delivered = 0;
    double m_flight = 0;
};

NS_OBJECT_ENSURE_REGISTERED(NewReno);
NS_OBJECT_ENSURE_REGISTERED(LinuxReno);
NS_OBJECT_ENSURE_REGISTERED(Cubic);
NS_OBJECT_ENSURE_REGISTERED(Hybla);
NS_OBJECT_ENSURE_REGISTERED(Vegas);
NS_OBJECT_ENSURE_REGISTERED(Westwood);
NS_OBJECT_ENSURE_REGISTERED(PrrRecovery);

} // namespace mended
