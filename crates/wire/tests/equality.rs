//! Whatever is encoded decodes to an equal message: for any message, and any sequence of them in a session.

mod arbitrary;
mod decoders;

use decoders::Content;
use proptest::collection::vec;
use proptest::prelude::*;

fn content() -> BoxedStrategy<Content> {
    prop_oneof![
        3 => vec(arbitrary::from_client(), 1..8).prop_map(Content::FromClient),
        3 => vec(arbitrary::from_gateway(), 1..8).prop_map(Content::FromGateway),
        1 => vec(arbitrary::journal_record(), 1..3).prop_map(Content::Journal),
        1 => vec(arbitrary::checkpoint_chunk(), 1..3).prop_map(Content::Checkpoint),
        1 => vec(arbitrary::stored_mutation(), 1..3).prop_map(Content::Mutation),
        1 => vec(arbitrary::stored_row(), 1..3).prop_map(Content::Row),
        1 => vec(arbitrary::stored_interest(), 1..3).prop_map(Content::Interest),
        1 => vec(arbitrary::stored_meta(), 1..3).prop_map(Content::Meta),
        1 => vec(arbitrary::stored_log(), 1..3).prop_map(Content::Log),
        1 => vec(arbitrary::log_entry(), 1..3).prop_map(Content::LogEntry),
        1 => vec(arbitrary::log_state(), 1..3).prop_map(Content::LogState),
        1 => vec(arbitrary::stored_end(), 1..3).prop_map(Content::End),
        2 => vec(arbitrary::from_tab(), 1..3).prop_map(Content::FromTab),
        2 => vec(arbitrary::to_tab(), 1..3).prop_map(Content::ToTab),
        3 => vec(arbitrary::to_replica(), 1..3).prop_map(Content::ToReplica),
        3 => vec(arbitrary::from_replica(), 1..3).prop_map(Content::FromReplica),
        2 => vec(arbitrary::between_replicas(), 1..3).prop_map(Content::BetweenReplicas),
        2 => vec(arbitrary::blob_request(), 1..3).prop_map(Content::BlobRequest),
        2 => vec(arbitrary::blob_reply(), 1..3).prop_map(Content::BlobReply),
        2 => vec(arbitrary::from_centre(), 1..3).prop_map(Content::FromCentre),
        2 => vec(arbitrary::outbox_entry(), 1..3).prop_map(Content::OutboxEntry),
        2 => vec(arbitrary::from_device(), 1..3).prop_map(Content::FromDevice),
        2 => vec(arbitrary::to_device(), 1..3).prop_map(Content::ToDevice),
        2 => vec(arbitrary::peer(), 1..3).prop_map(Content::Peer),
        1 => vec(arbitrary::nodes_hello(), 1..3).prop_map(Content::NodesHello),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_encoded_decodes_to_an_equal_message(content in content()) {
        let frames = content.encode().expect("small");
        prop_assert_eq!(content.decoder().decode(&frames), Ok(content));
    }
}
