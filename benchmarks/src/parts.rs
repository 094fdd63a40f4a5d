//! The processes that benchmarks consist of beside their servers: hidden subcommands of this program.

use clap::{Args, Subcommand};

use crate::{diamond, fanout, game, memory, objects, rebase, rights, rows, swiftsocial, views};

#[derive(Args, Debug)]
pub struct PartArguments {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand, Debug)]
enum Part {
    /// A player of `game`
    Player(game::PlayerArguments),
    /// A player of `game --kill`
    Survivor(game::SurvivorArguments),
    /// People of `retwis-diamond`
    Retwis,
    /// Sessions of `fanout`
    Fans(fanout::FanArguments),
    /// The front end of Redis in `retwis-diamond`
    RetwisWeb(diamond::WebArguments),
    /// A program with objects, of every workload of memory
    Memory(memory::ProgramArguments),
    /// A program that allocates, of `memory-burst`
    MemoryBurst(memory::BurstArguments),
    /// A member of `views`
    ViewsMember(views::MemberArguments),
    /// A client of `blob`
    RowsMember(rows::MemberArguments),
    /// A member of `rebase`
    RebaseMember(rebase::MemberArguments),
    /// The server process of a data centre in `swiftsocial --beside cloud`
    SocialCloud(swiftsocial::CloudArguments),
    /// A side of `object-null`, of Iolite and of `--beside echo,rest`
    NullCall(objects::NullArguments),
    /// People of `rights`
    Rights,
    /// The process that calls its own objects in `object-null`
    LocalCall,
    /// The server whose Node is measured in `object-null --from node`
    NodeCall,
}

/// Runs one part to its end.
///
/// # Errors
/// When its server or its parent does not do what it should.
pub fn run_part(arguments: &PartArguments) -> anyhow::Result<()> {
    match &arguments.part {
        Part::Player(player) => game::run_player(player),
        Part::Survivor(survivor) => game::run_survivor(survivor),
        Part::Retwis => diamond::run_crowd(),
        Part::Fans(fans) => fanout::run_fans(fans),
        Part::RetwisWeb(web) => diamond::run_web(web),
        Part::Memory(program) => memory::run_program(program),
        Part::MemoryBurst(program) => memory::run_burst(program),
        Part::ViewsMember(member) => views::run_member(member),
        Part::RowsMember(member) => rows::run_member(member),
        Part::RebaseMember(member) => rebase::run_member(member),
        Part::SocialCloud(cloud) => swiftsocial::run_cloud(cloud),
        Part::NullCall(side) => objects::run_null(side.clone()),
        Part::Rights => rights::run_cast(),
        Part::LocalCall => objects::run_local(),
        Part::NodeCall => objects::run_node(),
    }
}
