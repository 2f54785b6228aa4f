"""Queues at several servers: Erlang's formulas and what follows from them."""

from __future__ import annotations

import sys

from infer_cost.roofline.dispatch import Value, divide_or_infinity, exp, is_array, is_symbolic, log, maximum, where


def erlang_b(servers: Value, offered_load: Value) -> Value:
    r"""Share of requests turned away by servers without a queue (M/G/c/c).

    .. math:: P_B = \frac{a^{c} / c!}{\sum_{k=0}^{c} a^{k} / k!}

    Parameters
    ----------
    servers : int
        Servers, c [server]
    offered_load : float
        Work arriving a second of service, a [erlang]

    Returns
    -------
    float
        Share turned away, P_B [fraction]

    Notes
    -----
    Random arrivals; steady at any load, whatever the distribution of service times.

    Examples
    --------
    >>> round(erlang_b(14, 10.0), 4)
    0.0568

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       2.5.
    .. [2] Erlang, "Solution of some problems in the theory of probabilities of significance in automatic
       telephone exchanges", 1917.
    """
    if is_symbolic(servers) and not servers.is_Integer:
        return _erlang_b_symbolic(servers, offered_load)
    if is_array(servers):
        blocked = 1.0 + 0.0 * servers * offered_load
        for count in range(1, int(servers.max()) + 1):
            blocked = where(count <= servers, _one_more_server(count, blocked, offered_load), blocked)
        return blocked
    blocked = 1.0
    for count in range(1, int(servers) + 1):
        blocked = _one_more_server(count, blocked, offered_load)
    return blocked


def _one_more_server(count: Value, blocked: Value, offered_load: Value) -> Value:
    """Erlang's recursion: the share turned away by ``count`` servers from that of one fewer."""
    carried_over = offered_load * blocked
    return carried_over / (count + carried_over)


def _erlang_b_symbolic(servers: Value, offered_load: Value) -> Value:
    """Erlang B for any number of servers: the sum is an incomplete gamma function."""
    sympy = sys.modules["sympy"]
    return offered_load**servers * sympy.exp(-offered_load) / sympy.uppergamma(servers + 1, offered_load)


def erlang_c(servers: Value, offered_load: Value) -> Value:
    r"""Share of requests that have to wait at servers with a queue (M/M/c).

    .. math:: P_W = \frac{c P_B}{c - a (1 - P_B)}
    .. math:: P_B = \frac{a^{c} / c!}{\sum_{k=0}^{c} a^{k} / k!}

    Parameters
    ----------
    servers : int
        Servers, c [server]
    offered_load : float
        Work arriving a second of service, a [erlang]

    Returns
    -------
    float
        Share that waits, P_W [fraction]

    Notes
    -----
    Random arrivals and services; 1 from a load of as many erlangs as servers on.

    Examples
    --------
    A call centre's example: 14 servers, 10 erlangs:

    >>> round(erlang_c(14, 10.0), 4)
    0.1741

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       2.3.
    """
    blocked = erlang_b(servers, offered_load)
    load = where(offered_load < servers, offered_load, servers * 1.0)
    settled = servers * blocked / (servers - load * (1 - blocked))
    return where(offered_load < servers, settled, 1.0)


def mmc_wait(servers: Value, offered_load: Value, service_time: Value) -> Value:
    r"""Mean wait at several servers with one queue (M/M/c).

    .. math:: W_q = \frac{P_W s}{c - a}
    .. math:: P_W = \frac{c P_B}{c - a (1 - P_B)}
    .. math:: P_B = \frac{a^{c} / c!}{\sum_{k=0}^{c} a^{k} / k!}

    Parameters
    ----------
    servers : int
        Servers, c [server]
    offered_load : float
        Work arriving a second of service, a [erlang]
    service_time : float
        Mean time of a request on a server, s [s]

    Returns
    -------
    float
        Wait, W_q [s]

    Notes
    -----
    Infinite if the queue never settles: work comes in faster than it gets done.

    Examples
    --------
    14 servers, 10 erlangs, three minutes each:

    >>> round(mmc_wait(14, 10.0, 180.0), 1)
    7.8

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       2.3.
    """
    return divide_or_infinity(erlang_c(servers, offered_load) * service_time, servers - offered_load)


def mmc_service_level(servers: Value, offered_load: Value, service_time: Value, target: Value) -> Value:
    r"""Share of requests that wait no longer than a target (M/M/c).

    .. math:: q = 1 - P_W e^{-(c - a) t / s}
    .. math:: P_W = \frac{c P_B}{c - a (1 - P_B)}
    .. math:: P_B = \frac{a^{c} / c!}{\sum_{k=0}^{c} a^{k} / k!}

    Parameters
    ----------
    servers : int
        Servers, c [server]
    offered_load : float
        Work arriving a second of service, a [erlang]
    service_time : float
        Mean time of a request on a server, s [s]
    target : float
        Wait allowed, t [s]

    Returns
    -------
    float
        Share in time, q [fraction]

    Notes
    -----
    First come, first served; 0 where the queue never settles.

    Examples
    --------
    >>> round(mmc_service_level(14, 10.0, 180.0, 20.0), 3)
    0.888

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       2.3.
    """
    spare = maximum(servers - offered_load, 0.0)
    return 1 - erlang_c(servers, offered_load) * exp(-spare * target / service_time)


def mmc_wait_percentile(servers: Value, offered_load: Value, service_time: Value, share: Value) -> Value:
    r"""Wait that a share of requests stays below (M/M/c).

    .. math:: W = \max(0, \frac{s}{c - a} \ln \frac{P_W}{1 - q})
    .. math:: P_W = \frac{c P_B}{c - a (1 - P_B)}
    .. math:: P_B = \frac{a^{c} / c!}{\sum_{k=0}^{c} a^{k} / k!}

    Parameters
    ----------
    servers : int
        Servers, c [server]
    offered_load : float
        Work arriving a second of service, a [erlang]
    service_time : float
        Mean time of a request on a server, s [s]
    share : float
        Share of requests; 0.99 for the 99th percentile, q [fraction]

    Returns
    -------
    float
        Wait, W [s]

    Notes
    -----
    First come, first served; zero when fewer than 1 - q wait at all. Infinite if the queue never settles:
    work comes in faster than it gets done.

    Examples
    --------
    >>> round(mmc_wait_percentile(14, 10.0, 180.0, 0.95), 1)
    56.2

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       2.3.
    """
    surplus = maximum(0.0, log(erlang_c(servers, offered_load) / (1 - share)))
    return divide_or_infinity(surplus * service_time, servers - offered_load)


def allen_cunneen_wait(
    servers: Value, offered_load: Value, service_time: Value, arrival_variation: Value, service_variation: Value
) -> Value:
    r"""Mean wait at several servers, arrivals and services of any distribution (G/G/c), approximately.

    .. math:: W_q = \frac{P_W s}{c - a} \cdot \frac{V_a + V_s}{2}
    .. math:: P_W = \frac{c P_B}{c - a (1 - P_B)}
    .. math:: P_B = \frac{a^{c} / c!}{\sum_{k=0}^{c} a^{k} / k!}

    Parameters
    ----------
    servers : int
        Servers, c [server]
    offered_load : float
        Work arriving a second of service, a [erlang]
    service_time : float
        Mean time of a request on a server, s [s]
    arrival_variation : float
        Squared coefficient of variation of the times between arrivals, V_a [ratio]
    service_variation : float
        Squared coefficient of variation of the service times, V_s [ratio]

    Returns
    -------
    float
        Wait, W_q [s]

    Notes
    -----
    Exact for M/M/c, within about 10 % for moderate variation. Infinite if the queue never settles: work
    comes in faster than it gets done.

    Examples
    --------
    >>> round(allen_cunneen_wait(14, 10.0, 180.0, 1.0, 0.5), 2)
    5.88

    References
    ----------
    .. [1] Allen, "Probability, Statistics, and Queueing Theory", 2nd edition, 1990, section 5.4.
    """
    return mmc_wait(servers, offered_load, service_time) * (arrival_variation + service_variation) / 2
