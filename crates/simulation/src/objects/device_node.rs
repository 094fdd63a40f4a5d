//! A device of this world.

use iolite_machine::Machine;
use iolite_objects::{Device, DeviceInput, DeviceOutput, DeviceSettings, LinkState, TokenSource};
use iolite_values::{Id, NodeName};
use iolite_wire::objects::{FromDevice, ToDevice};

use super::clock::Clock;
use super::happened::ObjectEvent;
use super::kinds::Kind;
use super::links::LinkId;
use super::names::{At, SOMEBODY, device_id, drawn_id, user};
use super::world::{Host, World};
use crate::checker::Invariant;
use crate::history::Moment;

pub struct DeviceNode {
    pub host: Host,
    pub process: Option<Device>,
    /// The device is part of the service.
    pub serves: bool,
    /// The device writes another user into its calls.
    pub lies: bool,
    pub link: Option<LinkId>,
    /// No server can be reached until then.
    pub away_until: Moment,
    /// The device is never started again.
    pub is_gone: bool,
    /// How often it was taken for lost, as it was told last.
    lapses: u64,
}

impl DeviceNode {
    pub fn new(clock: Clock, serves: bool, lies: bool) -> DeviceNode {
        let (link, away_until, is_gone, lapses) = (None, 0, false, 0);
        DeviceNode { host: Host::new(clock), process: None, serves, lies, link, away_until, is_gone, lapses }
    }
}

impl World {
    pub fn start_device(&mut self, number: usize) {
        if self.devices[number].is_gone {
            return;
        }
        let clock = Clock::random(&mut self.random, self.moment);
        self.devices[number].host.begin(clock);
        let now = self.now(At::Device(number));
        let serves = self.devices[number].serves;
        let classes = self.classes(|kind| kind != Kind::Served && (serves || kind != Kind::Hosted));
        let settings = DeviceSettings {
            device: drawn_id(number),
            kernel: Id::from_u128(self.random.id()),
            token: TokenSource::Fixed(user(number)),
            serves,
            resumed: self.resumed(At::Device(number)),
            classes,
            managers: Vec::new(),
            broken: self.broken.of_kernel(),
        };
        let own = &mut self.devices[number];
        (own.process, own.link, own.lapses) = (Some(Device::new(now, settings)), None, 0);
    }

    pub fn give_device(&mut self, device: usize, input: DeviceInput) {
        let now = self.now(At::Device(device));
        if let DeviceInput::Message(ToDevice::Welcome(welcome)) = &input {
            self.devices[device].host.store = Some(welcome.store);
            let before = std::mem::replace(&mut self.devices[device].lapses, welcome.lapses);
            if before < welcome.lapses && self.node(At::Device(device)) == Some(welcome.device) {
                self.happened(ObjectEvent::CameBack);
            }
        }
        self.note(At::Device(device), "<-", &input);
        let welcomed = matches!(input, DeviceInput::Message(ToDevice::Welcome(_)));
        let Some(own) = &mut self.devices[device].process else { return };
        own.handle(now, input);
        self.carry(At::Device(device));
        if welcomed {
            let life = self.rows.life(self.store.id, NodeName::Device(device_id(device)));
            self.displace(device, life);
        }
    }

    pub fn on_linked(&mut self, link: LinkId) {
        let Some(device) = self.links.all.get(&link).map(|own| own.device) else { return };
        if self.devices[device].link == Some(link) {
            self.give_device(device, DeviceInput::Linked);
        }
    }

    pub fn carry_device(&mut self, device: usize) {
        loop {
            let Some(own) = &mut self.devices[device].process else { return };
            if let Some(output) = own.poll() {
                self.of_device(device, output);
            } else if let Some(input) = self.devices[device].host.app.says.pop_front() {
                let now = self.now(At::Device(device));
                if let Some(own) = &mut self.devices[device].process {
                    own.handle(now, DeviceInput::App(input));
                }
            } else {
                break;
            }
        }
        if let Some(own) = &self.devices[device].process {
            own.validate();
        }
    }

    fn of_device(&mut self, device: usize, output: DeviceOutput) {
        self.note(At::Device(device), "->", &output);
        match output {
            DeviceOutput::Connect => self.connect(device),
            DeviceOutput::Disconnect => self.disconnect(device),
            DeviceOutput::Send(message) => {
                self.count_parts(matches!(message, FromDevice::Part { .. }));
                let message = self.as_it_is_sent(device, message);
                self.send_up(device, &message);
            }
            DeviceOutput::App(output) => self.perform(At::Device(device), output),
            DeviceOutput::Link(LinkState::Open(welcome)) => self.keep_life(At::Device(device), &welcome),
            DeviceOutput::Link(LinkState::Lost) => {}
            DeviceOutput::TokenWanted | DeviceOutput::Link(LinkState::Refused(_)) => {
                unreachable!("its token is good for ever")
            }
            DeviceOutput::Link(LinkState::Ended(goodbye)) => {
                self.broke(Invariant::Liveness, format!("device {device} was sent away for good: {goodbye:?}"));
            }
        }
    }

    /// A device that lies writes another user into half of its calls.
    fn as_it_is_sent(&mut self, device: usize, message: FromDevice) -> FromDevice {
        let lies = self.devices[device].lies && self.random.chance(500);
        match message {
            FromDevice::Call { number, to, mut rpc } if lies => {
                rpc.caller = SOMEBODY.to_owned();
                self.happened(ObjectEvent::Lied);
                FromDevice::Call { number, to, rpc }
            }
            message => message,
        }
    }
}
