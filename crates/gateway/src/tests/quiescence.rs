//! Random sessions, subscriptions, commits and delays: when all is quiet every session holds what the store holds.
