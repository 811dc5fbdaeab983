//! placeholder
/// placeholder
#[derive(Debug)]
pub struct Link;
/// placeholder
#[derive(Debug)]
pub struct Counters;
/// placeholder
#[derive(Debug)]
pub struct Offered;
