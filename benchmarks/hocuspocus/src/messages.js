// What a message to Hocuspocus's server is: a document's name, a type, and, of the type for syncing, a step.

const SYNC = 0;
const FIRST_STEP = 0;

/** @param {import("@hocuspocus/server").IncomingMessage} message not read yet */
export function readSyncMessage(message) {
    message.readVarString();
    const type = message.readVarUint();
    // Whoever asks what there is (the first step) changes nothing; whatever else it says of the document may.
    return { isUpdate: type === SYNC && message.readVarUint() !== FIRST_STEP };
}
