// capread mcp through the first TypeScript SDK, which knows the protocol with `initialize` only.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { era } from './checks.mjs';

async function connect(server) {
    const client = new Client({ name: 'checks', version: '1' });
    const transport = new StdioClientTransport(server);
    transport.setProtocolVersion = (version) => { client.agreed = version; };
    await client.connect(transport);
    return client;
}

await era({
    connect,
    call: (client, params, options) => client.callTool(params, undefined, options),
    version: '2025-11-25',
    agreed: (client) => client.agreed,
});
