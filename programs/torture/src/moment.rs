//! Moments of the clock that all processes of the machine share.

use iolite_histories::Moment;

pub fn moment() -> Moment {
    Moment(iolite_host::monotonic_nanos())
}
