//! The checkers against histories whose verdict is known: by hand, random ones that are valid by construction, and such with one fault.

#[path = "checker/agreement.rs"]
mod agreement;
#[path = "checker/anomalies.rs"]
mod anomalies;
#[path = "checker/build.rs"]
mod build;
#[path = "checker/faults.rs"]
mod faults;
#[path = "checker/files.rs"]
mod files;
#[path = "checker/last.rs"]
mod last;
#[path = "checker/oracle.rs"]
mod oracle;
#[path = "checker/properties.rs"]
mod properties;
#[path = "checker/random.rs"]
mod random;
#[path = "checker/serial.rs"]
mod serial;
#[path = "checker/size.rs"]
mod size;
#[path = "checker/stamps.rs"]
mod stamps;
#[path = "checker/totals.rs"]
mod totals;
