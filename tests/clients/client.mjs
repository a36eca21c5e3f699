// capread mcp through the second TypeScript SDK, in both eras of the protocol.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { era } from './checks.mjs';

const connect = (mode) => async (server) => {
    const client = new Client({ name: 'checks', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport(server));
    return client;
};

const both = {
    call: (client, params, options) => client.callTool(params, options),
    agreed: (client) => client.getNegotiatedProtocolVersion(),
};

await era({ ...both, connect: connect({ pin: '2026-07-28' }), version: '2026-07-28' });
await era({ ...both, connect: connect('legacy'), version: '2025-11-25' });
