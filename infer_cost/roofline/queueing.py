"""Queues: how long requests wait at one server or at several."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value, divide_or_infinity, log, where


def offered_load(arrival_rate: Value, service_time: Value) -> Value:
    r"""Servers that the arriving work keeps busy on average.

    .. math:: a = \lambda s

    Parameters
    ----------
    arrival_rate : float
        Requests a second, lambda [request/s]
    service_time : float
        Mean time of a request on a server, s [s]

    Returns
    -------
    float
        Load, a [erlang]

    Notes
    -----
    More than the servers there are means a queue without end.

    Examples
    --------
    >>> offered_load(0.05, 180.0)
    9.0

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       1.5.
    """
    return arrival_rate * service_time


def server_utilization(arrival_rate: Value, service_time: Value, servers: Value) -> Value:
    r"""Share of the time that a server is busy.

    .. math:: \rho = \frac{\lambda s}{c}

    Parameters
    ----------
    arrival_rate : float
        Requests a second, lambda [request/s]
    service_time : float
        Mean time of a request on a server, s [s]
    servers : float
        Servers, c [server]

    Returns
    -------
    float
        Utilization, rho [ratio]

    Notes
    -----
    Steady only below 1.

    Examples
    --------
    >>> server_utilization(0.05, 180.0, 12)
    0.75

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       1.5.
    """
    return arrival_rate * service_time / servers


def little_law(arrival_rate: Value, time: Value) -> Value:
    r"""Requests in the house: those waiting and those in service.

    .. math:: N = \lambda T

    Parameters
    ----------
    arrival_rate : float
        Requests a second, lambda [request/s]
    time : float
        Mean time that a request spends in the house, T [s]

    Returns
    -------
    float
        Requests, N [request]

    Notes
    -----
    Always, in a steady state, whatever the distributions.

    Examples
    --------
    240 requests a second that stay 10 s:

    >>> little_law(240, 10.0)
    2400.0

    References
    ----------
    .. [1] Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961.
    """
    return arrival_rate * time


def mm1_wait(arrival_rate: Value, service_time: Value) -> Value:
    r"""Mean wait at one server, arrivals and services at random (M/M/1).

    .. math:: W_q = \frac{\lambda s^{2}}{1 - \lambda s}

    Parameters
    ----------
    arrival_rate : float
        Requests a second, lambda [request/s]
    service_time : float
        Mean time of a request on the server, s [s]

    Returns
    -------
    float
        Wait, W_q [s]

    Notes
    -----
    Infinite if the queue never settles: work comes in faster than it gets done.

    Examples
    --------
    >>> round(mm1_wait(0.8, 1.0), 6)
    4.0

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       2.2.
    """
    return divide_or_infinity(arrival_rate * service_time**2, 1 - arrival_rate * service_time)


def mm1_time_percentile(arrival_rate: Value, service_time: Value, share: Value) -> Value:
    r"""Time in the house, waiting and service, that a share of requests stays below (M/M/1).

    .. math:: T_q = \frac{-\ln(1 - q) s}{1 - \lambda s}

    Parameters
    ----------
    arrival_rate : float
        Requests a second, lambda [request/s]
    service_time : float
        Mean time of a request on the server, s [s]
    share : float
        Share of requests; 0.99 for the 99th percentile, q [fraction]

    Returns
    -------
    float
        Time, T_q [s]

    Notes
    -----
    First come, first served. Infinite if the queue never settles: work comes in faster than it gets done.

    Examples
    --------
    The 99th percentile is 4.6 times the mean:

    >>> round(mm1_time_percentile(0.8, 1.0, 0.99), 2)
    23.03

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       2.2.
    """
    return divide_or_infinity(-log(1 - share) * service_time, 1 - arrival_rate * service_time)


def mm1k_blocking(offered_load: Value, capacity: Value) -> Value:
    r"""Share of requests turned away when a single server has room for only so many (M/M/1/K).

    .. math:: P = \frac{(1 - a) a^{K}}{1 - a^{K + 1}}

    Parameters
    ----------
    offered_load : float
        Work arriving a second of service, a [erlang]
    capacity : float
        Requests that the house holds, the one in service included, K [request]

    Returns
    -------
    float
        Share turned away, P [fraction]

    Notes
    -----
    Steady at any load; 1/(K + 1) at a load of 1.

    Examples
    --------
    >>> round(mm1k_blocking(0.8, 10), 4)
    0.0235

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       2.5.
    """
    balanced = offered_load == 1
    load = where(balanced, 0.5, offered_load)
    return where(balanced, 1 / (capacity + 1), (1 - load) * load**capacity / (1 - load ** (capacity + 1)))


def mg1_wait(arrival_rate: Value, service_time: Value, service_variation: Value) -> Value:
    r"""Mean wait at one server, services of any distribution (M/G/1).

    .. math:: W_q = \frac{\lambda s^{2} (1 + V_s)}{2 (1 - \lambda s)}

    Parameters
    ----------
    arrival_rate : float
        Requests a second, lambda [request/s]
    service_time : float
        Mean time of a request on the server, s [s]
    service_variation : float
        Squared coefficient of variation of the service times; 0 if constant, 1 if exponential, V_s [ratio]

    Returns
    -------
    float
        Wait, W_q [s]

    Notes
    -----
    The Pollaczek-Khinchine formula. Infinite if the queue never settles: work comes in faster than it
    gets done.

    Examples
    --------
    >>> round(mg1_wait(0.8, 1.0, 0.0), 6)
    2.0

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section
       5.1.
    """
    squares = arrival_rate * service_time**2 * (1 + service_variation)
    return divide_or_infinity(squares, 2 * (1 - arrival_rate * service_time))


def kingman_wait(utilization: Value, arrival_variation: Value, service_variation: Value, service_time: Value) -> Value:
    r"""Mean wait at one server, arrivals and services of any distribution (G/G/1), approximately.

    .. math:: W_q = \frac{\rho}{1 - \rho} \cdot \frac{V_a + V_s}{2} s

    Parameters
    ----------
    utilization : float
        Share of the time that the server is busy, rho [ratio]
    arrival_variation : float
        Squared coefficient of variation of the times between arrivals, V_a [ratio]
    service_variation : float
        Squared coefficient of variation of the service times, V_s [ratio]
    service_time : float
        Mean time of a request on the server, s [s]

    Returns
    -------
    float
        Wait, W_q [s]

    Notes
    -----
    Good at high utilization. Infinite if the queue never settles: work comes in faster than it gets done.

    Examples
    --------
    >>> round(kingman_wait(0.8, 1.0, 0.0, 1.0), 6)
    2.0

    References
    ----------
    .. [1] Kingman, "The single server queue in heavy traffic", Mathematical Proceedings of the Cambridge
       Philosophical Society 57(4), 1961.
    """
    variation = (arrival_variation + service_variation) / 2
    return divide_or_infinity(utilization, 1 - utilization) * variation * service_time


def prefill_queue_ttft(arrival_rate: Value, prefill_time: Value, speedup: Value) -> Value:
    r"""Mean time to first token at a prefill server that tensor parallelism makes K times faster.

    .. math:: TTFT = \frac{D}{K} + \frac{R D^{2}}{2 K (K - R D)}

    Parameters
    ----------
    arrival_rate : float
        Prompts a second, R [request/s]
    prefill_time : float
        Time of a prefill on one chip, D [s]
    speedup : float
        How many times faster the server is, K [ratio]

    Returns
    -------
    float
        Time to first token, TTFT [s]

    Notes
    -----
    Random arrivals, equal prompts (M/D/1). Infinite if the queue never settles: work comes in faster than
    it gets done.

    Examples
    --------
    >>> round(prefill_queue_ttft(5.0, 0.1, 1.6), 5)
    0.0767

    References
    ----------
    .. [1] Zhong et al., "DistServe", arXiv:2401.09670, 2024, equation 3.
    """
    service_time = prefill_time / speedup
    return service_time + mg1_wait(arrival_rate, service_time, 0.0)
