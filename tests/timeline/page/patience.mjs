// How long a test waits for an event that must happen: a bound for hangs, which even slow machines
// do not reach. It is multiplied by HEDDLE_TEST_PATIENCE (by default 1).
const factor = Number(process.env.HEDDLE_TEST_PATIENCE ?? 1);

/// Returns the bound in milliseconds, for a usual time in seconds.
export const patient = (seconds) => seconds * 1000 * (factor > 0 ? factor : 1);
