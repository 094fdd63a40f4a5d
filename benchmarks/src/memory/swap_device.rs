//! Swap that is there for one arm only: a file, or compressed memory. It takes root.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// Swap that ends when it is dropped.
#[derive(Debug)]
pub struct SwapDevice {
    path: PathBuf,
    is_zram: bool,
}

const ZRAM: &str = "/dev/zram0";
const ZRAM_SETTINGS: &str = "/sys/block/zram0";

impl SwapDevice {
    /// A file of so many bytes in a folder.
    pub fn file(folder: &Path, bytes: u64) -> anyhow::Result<SwapDevice> {
        refuse_other_swap()?;
        let path = folder.join(format!("iolite-bench-swap-{}", std::process::id()));
        let device = SwapDevice { path, is_zram: false };
        let file = File::create(&device.path)?;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
        rustix::fs::fchmod(&file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
        device.on()
    }

    /// Compressed memory, by the machine's first zram device if nobody uses it.
    pub fn zram(bytes: u64) -> anyhow::Result<SwapDevice> {
        refuse_other_swap()?;
        let size = format!("{ZRAM_SETTINGS}/disksize");
        let before = std::fs::read_to_string(&size).context("there is no zram device")?;
        if before.trim() != "0" {
            bail!("{ZRAM} is in use");
        }
        std::fs::write(&size, bytes.to_string()).context("zram takes root")?;
        SwapDevice { path: ZRAM.into(), is_zram: true }.on()
    }

    /// If this fails, what was made is removed by dropping it.
    fn on(self) -> anyhow::Result<SwapDevice> {
        run("mkswap", &self.path)?;
        run("swapon", &self.path)?;
        Ok(self)
    }
}

/// The arm would measure another swap.
fn refuse_other_swap() -> anyhow::Result<()> {
    let swaps = std::fs::read_to_string("/proc/swaps")?;
    if swaps.lines().count() > 1 {
        bail!("the machine has swap already, which would be measured instead")
    } else {
        Ok(())
    }
}

fn run(program: &str, path: &Path) -> anyhow::Result<()> {
    let output = Command::new(program).arg(path).output().with_context(|| format!("{program} is not there"))?;
    if !output.status.success() {
        bail!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

impl Drop for SwapDevice {
    fn drop(&mut self) {
        let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
        if swaps.contains(&self.path.display().to_string())
            && let Err(error) = run("swapoff", &self.path)
        {
            eprintln!("swap stays on: run swapoff {} ({error})", self.path.display());
            return;
        }
        let removed = if self.is_zram {
            std::fs::write(format!("{ZRAM_SETTINGS}/reset"), "1")
        } else {
            std::fs::remove_file(&self.path)
        };
        if let Err(error) = removed {
            eprintln!("{} stays: remove it ({error})", self.path.display());
        }
    }
}
