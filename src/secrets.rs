//! Which secrets a request sent, remembered in one block.
