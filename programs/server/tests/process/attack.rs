//! `iolite dev` as a process, attacked over its port. Each attack gets a clear answer or a closed connection; the server's memory stays
//! bounded, what was acknowledged stays, and a client that uses it meanwhile notices nothing.

mod connections;
mod contents;
mod domains;
mod frames;
mod greed;
mod greedy_queries;
mod impersonation;
mod object_rights;
mod object_users;
mod objects;
mod readers;
mod strangers;
mod witness;
